"""
Use SQLAlchemy on the tables that Django made: with tables that SQLAlchemy reads from the catalogs,
and with tables that the program declares.
"""
import datetime
import decimal
import warnings

from sqlalchemy import (
    BigInteger,
    DateTime,
    ForeignKey,
    MetaData,
    Numeric,
    SmallInteger,
    String,
    Table,
    Text,
    bindparam,
    case,
    cast,
    create_engine,
    delete,
    event,
    exists,
    func,
    insert,
    inspect,
    literal,
    or_,
    select,
    text,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import JSONB, aggregate_order_by, array_agg
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.types import UserDefinedType
from sqlalchemy.orm import (
    DeclarativeBase,
    Mapped,
    Session,
    joinedload,
    mapped_column,
    relationship,
    selectinload,
)

from shop.transcript import canonical

D = decimal.Decimal


class Money(UserDefinedType):
    """
    A column type NUMERIC that does not use SQLAlchemy's own type Numeric.

    Numeric refuses results whose type is none of core's types of numbers: see
    numbers_of_sqlalchemy().
    """

    cache_ok = True

    def __init__(self, precision, scale):
        self.precision, self.scale = precision, scale

    def get_col_spec(self, **_):
        return f"NUMERIC({self.precision}, {self.scale})"


class Base(DeclarativeBase):
    pass


class Maker(Base):
    """The table shop_product, as another program declares it."""

    __tablename__ = "shop_product"
    id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    category_id: Mapped[int] = mapped_column(ForeignKey("shop_category.id"))
    sku: Mapped[str] = mapped_column(String(20))
    title: Mapped[str] = mapped_column(String(120))
    description: Mapped[str] = mapped_column(Text)
    maker: Mapped[str] = mapped_column(String(80))
    price: Mapped[D] = mapped_column(Money(8, 2))
    weight: Mapped[D | None] = mapped_column(Money(7, 3))
    stock: Mapped[int]
    reserved: Mapped[int] = mapped_column(BigInteger, default=0)
    rating: Mapped[int | None] = mapped_column(SmallInteger)
    active: Mapped[bool] = mapped_column(default=True)
    attributes: Mapped[dict] = mapped_column(JSONB, default=dict)
    created: Mapped[datetime.datetime] = mapped_column(DateTime(timezone=True))
    reviews: Mapped[list["Opinion"]] = relationship(back_populates="product", order_by="Opinion.id")

    def __iter__(self):
        return iter(
            [
                self.id,
                self.sku,
                self.title,
                self.maker,
                self.price,
                self.weight,
                self.stock,
                self.active,
            ]
        )


class Group(Base):
    __tablename__ = "shop_category"
    id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    name: Mapped[str] = mapped_column(String(50))


class Opinion(Base):
    __tablename__ = "shop_review"
    id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    product_id: Mapped[int] = mapped_column(ForeignKey("shop_product.id"))
    customer_id: Mapped[int] = mapped_column(BigInteger)
    stars: Mapped[int] = mapped_column(SmallInteger)
    title: Mapped[str] = mapped_column(String(100))
    body: Mapped[str] = mapped_column(Text)
    created: Mapped[datetime.datetime] = mapped_column(DateTime(timezone=True))
    product: Mapped[Maker] = relationship(back_populates="reviews")


class Tally(Base):
    __tablename__ = "shop_counter"
    name: Mapped[str] = mapped_column(String(80), primary_key=True)
    value: Mapped[int] = mapped_column(BigInteger, default=0)
    amount: Mapped[D] = mapped_column(Money(8, 2), default=D(0))
    label: Mapped[str] = mapped_column(String(80), default="")

    def __iter__(self):
        return iter([self.name, self.value, self.amount, self.label])


def engine_for(transcript, creator, client, **options):
    if client == "package":
        import pg_dense.sqlalchemy
    dialect = "dense" if client == "package" else "psycopg"
    engine = create_engine(f"postgresql+{dialect}://", creator=creator, **options)

    @event.listens_for(engine, "after_cursor_execute")
    def executed(conn, cursor, statement, parameters, context, executemany):
        transcript.statement(statement, cursor.rowcount)

    return engine


def reflection(see, engine, tables):
    """Write what SQLAlchemy reads from the catalogs."""
    catalog = inspect(engine)
    for table in tables:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            see(
                f"columns of {table}",
                lambda: [
                    (
                        c["name"],
                        str(c["type"]) if not c["type"]._isnull else "unknown",
                        c["nullable"],
                        c["default"],
                    )
                    for c in catalog.get_columns(table)
                ],
            )
            see(f"warnings of {table}", lambda: sorted(str(one.message) for one in caught))
        see(
            f"constraints of {table}",
            lambda: (
                catalog.get_pk_constraint(table),
                sorted(str(one) for one in catalog.get_foreign_keys(table)),
                sorted(str(one) for one in catalog.get_unique_constraints(table)),
                sorted(one["name"] for one in catalog.get_check_constraints(table)),
                sorted(
                    (one["name"], str(one.get("column_names")), one["unique"])
                    for one in catalog.get_indexes(table)
                ),
            ),
        )


def numbers_of_sqlalchemy(see, engine):
    """Use columns that the program declares as Numeric."""
    from sqlalchemy import column, table

    product = table(
        "shop_product",
        column("id", BigInteger),
        column("price", Numeric(8, 2)),
        column("cost", Numeric(12, 4)),
    )

    def fetch(statement):
        with engine.connect() as conn:
            return conn.execute(statement).all()

    see(
        "where",
        fetch,
        select(product.c.id).where(product.c.price > D("700.005")).order_by(product.c.id),
    )
    see("sum", fetch, select(func.sum(product.c.price), func.avg(product.c.price)))
    see("cast", fetch, select(cast(product.c.price, Numeric(8, 2))).order_by(product.c.id).limit(5))
    see("result", fetch, select(product.c.price).order_by(product.c.id).limit(5))
    see("result of max", fetch, select(func.max(product.c.price)))


def reflected(see, engine):
    """Use the same tables, but take all declarations from the catalogs."""
    metadata = MetaData()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        product = Table("shop_product", metadata, autoload_with=engine)
        customer = Table("shop_customer", metadata, autoload_with=engine)
        order = Table("shop_order", metadata, autoload_with=engine)
        line = Table("shop_orderline", metadata, autoload_with=engine)
        counter = Table("shop_counter", metadata, autoload_with=engine)
        report = Table("shop_report", metadata, autoload_with=engine)

    def fetch(statement, *parameters):
        with engine.connect() as conn:
            return conn.execute(statement, *parameters).all()

    def write(statement, *parameters):
        with engine.begin() as conn:
            result = conn.execute(statement, *parameters)
            # no order is defined
            return (
                (result.rowcount, sorted(map(str, result.all())))
                if result.returns_rows
                else result.rowcount
            )

    see("select", fetch, select(product).order_by(product.c.id).limit(5))
    see(
        "where text",
        fetch,
        select(customer.c.id).where(customer.c.name == "John Smith").order_by(customer.c.id),
    )
    see(
        "where like",
        fetch,
        select(customer.c.id).where(customer.c.name.like("J%")).order_by(customer.c.id),
    )
    see(
        "where contains",
        fetch,
        select(customer.c.id)
        .where(customer.c.token.contains("ab", autoescape=True))
        .order_by(customer.c.id),
    )
    see(
        "where in",
        fetch,
        select(customer.c.id)
        .where(customer.c.name.in_(["Anna Bauer", "李雷"]))
        .order_by(customer.c.id),
    )
    see(
        "where price",
        fetch,
        select(product.c.id, product.c.price)
        .where(product.c.price > D("700.005"))
        .order_by(product.c.id),
    )
    see(
        "where price, integer",
        fetch,
        select(product.c.id).where(product.c.price > 700).order_by(product.c.id),
    )
    see(
        "where weight in",
        fetch,
        select(product.c.id)
        .where(product.c.weight.in_([D("1.125"), D("2.1255")]))
        .order_by(product.c.id),
    )
    see(
        "arithmetic",
        fetch,
        select(
            product.c.price * product.c.stock,
            product.c.price + 1,
            product.c.stock - product.c.reserved,
        )
        .order_by(product.c.id)
        .limit(5),
    )
    see(
        "concatenation",
        fetch,
        select(product.c.title + "!", product.c.title + product.c.maker)
        .order_by(product.c.id)
        .limit(5),
    )
    see(
        "sum",
        fetch,
        select(product.c.maker, func.sum(product.c.price), func.max(product.c.title), func.count())
        .group_by(product.c.maker)
        .order_by(product.c.maker),
    )
    see(
        "coalesce",
        fetch,
        select(func.coalesce(product.c.weight, 0), func.coalesce(product.c.title, "none"))
        .order_by(product.c.id)
        .limit(5),
    )
    see(
        "join",
        fetch,
        select(order.c.number, customer.c.name, func.sum(line.c.price * line.c.quantity))
        .join(customer, customer.c.id == order.c.customer_id)
        .join(line, line.c.order_id == order.c.id)
        .group_by(order.c.number, customer.c.name)
        .order_by(order.c.number)
        .limit(15),
    )
    see("view", fetch, select(report).order_by(report.c.number).limit(5))
    see(
        "insert",
        write,
        insert(counter)
        .values(name="alchemy", value=1, amount=D("1.5"), label="l")
        .returning(counter),
    )
    see(
        "insert of many",
        write,
        insert(counter),
        [dict(name=f"alchemy/{i}", value=i, amount=D(i), label="") for i in range(5)],
    )
    statement = upsert(counter).values(
        [
            dict(name=f"alchemy/{i}", value=i * 100, amount=D("0.5"), label="again")
            for i in range(3, 8)
        ]
    )
    see(
        "on_conflict_do_update",
        write,
        statement.on_conflict_do_update(
            index_elements=["name"],
            set_=dict(
                value=counter.c.value + statement.excluded.value,
                label=statement.excluded.label + counter.c.name,
            ),
            where=counter.c.value < 1000,
        ).returning(counter.c.name, counter.c.value, counter.c.label),
    )
    see(
        "update",
        write,
        update(counter)
        .where(counter.c.name == "alchemy")
        .values(amount=counter.c.amount * D("2.5"), label=func.upper(counter.c.label))
        .returning(counter),
    )
    see(
        "update of many",
        write,
        update(counter).where(counter.c.name == bindparam("n")).values(amount=bindparam("a")),
        [dict(n=f"alchemy/{i}", a=D("3.25")) for i in range(4)],
    )
    # These rows are missing if "on_conflict_do_update" ended with an error.
    with engine.begin() as connection:
        connection.execute(
            delete(counter).where(counter.c.name.in_([f"alchemy/{i}" for i in range(5, 8)]))
        )
    see(
        "delete",
        write,
        delete(counter)
        .where(counter.c.name.like("alchemy%"))
        .returning(counter.c.name, counter.c.amount),
    )


def declared(see, engine, connect_other):
    """Use the program's own declarations, with SQLAlchemy's core and with its mapper."""
    product, review, tally = Maker.__table__, Opinion.__table__, Tally.__table__

    def fetch(statement, *parameters):
        with engine.connect() as conn:
            return conn.execute(statement, *parameters).all()

    def write(statement, *parameters):
        with engine.begin() as conn:
            result = conn.execute(statement, *parameters)
            # no order is defined
            return (
                (result.rowcount, sorted(map(str, result.all())))
                if result.returns_rows
                else result.rowcount
            )

    def refused(statement):
        with engine.connect() as conn, conn.begin() as transaction:
            result = conn.execute(statement).rowcount
            transaction.rollback()
            return result

    def orm(function):
        with Session(engine) as session, session.begin():
            return canonical(function(session))

    see("select", fetch, select(product).order_by(product.c.id).limit(8))
    for name, condition in {
        "text": product.c.maker == "fox & sons",
        "text, list": product.c.maker.in_(["fox & sons", "the & sons"]),
        "ilike": product.c.title.ilike("%FOX%"),
        "startswith": product.c.title.startswith("The", autoescape=True),
        "regexp": product.c.title.regexp_match("^[A-D]"),
        "price": product.c.price >= D("700"),
        "price, digits": product.c.price > D("700.005"),
        "price, integer": product.c.price > 700,
        "price, list": product.c.price.in_([D("1"), D("2.5")]),
        "weight": product.c.weight == D("1.125"),
        "null": product.c.weight.is_(None),
        "distinct": product.c.weight.is_distinct_from(D("1.125")),
        "between": product.c.title.between("C", "G"),
        "or": or_(product.c.title < "C", product.c.stock > 50),
        "tuple": tuple_(product.c.title, product.c.sku) > ("M", "A"),
        "tuples": tuple_(product.c.sku, product.c.stock).in_(
            [("SKU-000003", 3), ("SKU-000005", 1)]
        ),
        "json": product.c.attributes["color"].astext == "red",
        "exists": exists().where(review.c.product_id == product.c.id, review.c.title > "q"),
        "cast": cast(product.c.price, String) == "5.55",
        "any": product.c.maker == func.any(["fox & sons"]),
        "columns": product.c.title > product.c.maker,
    }.items():
        see("where " + name, fetch, select(product.c.id).where(condition).order_by(product.c.id))
    for name, columns in {
        "arithmetic": [
            product.c.price * product.c.stock,
            product.c.price / 3,
            product.c.price + product.c.weight,
            product.c.stock - product.c.reserved,
        ],
        "texts": [
            product.c.title + " by " + product.c.maker,
            func.lower(product.c.title),
            func.length(product.c.title),
            func.substr(product.c.sku, 5),
        ],
        "coalesce": [
            func.coalesce(product.c.weight, 0),
            func.coalesce(product.c.weight, D("0")),
            func.coalesce(product.c.weight, product.c.price),
        ],
        "case": [
            case((product.c.price > 100, product.c.price), else_=0),
            case((product.c.active, product.c.title), else_="off"),
        ],
        "literal": [
            literal("x"),
            literal(D("1.5")) + product.c.price,
            product.c.title + literal(5).cast(String),
        ],
        "window": [
            func.row_number().over(order_by=product.c.title),
            func.sum(product.c.price).over(partition_by=product.c.maker),
            func.lag(product.c.price).over(order_by=product.c.id),
        ],
    }.items():
        see(
            "columns " + name,
            fetch,
            select(product.c.id, *columns).order_by(product.c.id).limit(12),
        )
    see(
        "aggregates",
        fetch,
        select(
            product.c.maker,
            func.count(),
            func.sum(product.c.price),
            func.avg(product.c.price),
            func.min(product.c.title),
            array_agg(aggregate_order_by(product.c.sku, product.c.id)),
        )
        .where(product.c.id < 40)
        .group_by(product.c.maker)
        .order_by(product.c.maker),
    )
    see(
        "union",
        fetch,
        select(product.c.title)
        .union(select(review.c.title), select(tally.c.name))
        .order_by("title")
        .limit(30),
    )
    see(
        "cte",
        fetch,
        (
            lambda top: select(top.c.maker, top.c.total)
            .where(top.c.total > 100)
            .order_by(top.c.maker)
        )(
            select(product.c.maker, func.sum(product.c.price).label("total"))
            .group_by(product.c.maker)
            .cte("top")
        ),
    )
    see(
        "text",
        fetch,
        text(
            "SELECT id, title, price FROM shop_product WHERE title > :t AND price < :p ORDER BY title, id LIMIT 5"
        ),
        dict(t="M", p=D("500")),
    )

    def stream():
        with engine.connect() as conn:
            result = conn.execution_options(yield_per=30).execute(
                select(product.c.sku, product.c.price).order_by(product.c.sku)
            )
            return [(len(part), list(part[0])) for part in result.partitions()]

    see("yield_per", stream)
    see(
        "orm yield_per",
        orm,
        lambda s: [
            list(one)[:5]
            for one in s.scalars(select(Maker).order_by(Maker.id).execution_options(yield_per=50))
        ][::20],
    )
    see("orm get", orm, lambda s: s.get(Maker, 5))
    see(
        "orm eager",
        orm,
        lambda s: [
            (list(one), [(o.stars, o.title) for o in one.reviews])
            for one in s.scalars(
                select(Maker)
                .options(selectinload(Maker.reviews))
                .where(Maker.maker < "f")
                .order_by(Maker.id)
                .limit(6)
            )
        ],
    )
    see(
        "orm joined",
        orm,
        lambda s: [
            (o.id, o.title, o.product.title)
            for o in s.scalars(
                select(Opinion).options(joinedload(Opinion.product)).order_by(Opinion.id).limit(6)
            )
        ],
    )

    def change(s):
        one = s.scalars(select(Maker).where(Maker.sku == "SKU-000060")).one()
        one.title, one.price, one.stock, one.weight = (
            one.title + "?",
            one.price + D("1.25"),
            one.stock + 70000,
            None,
        )
        s.flush()
        s.refresh(one)
        one.stock = Maker.stock + 1
        s.flush()
        return list(one)

    see("orm change", orm, change)

    def add(s):
        many = [Tally(name=f"orm/{i}", value=i, amount=D(i) / 4, label=f"l{i}") for i in range(30)]
        s.add_all(many)
        s.flush()
        return s.scalars(
            select(Tally).where(Tally.name.like("orm/%")).order_by(Tally.name).limit(5)
        ).all()

    see("orm add", orm, add)

    def savepoint(s):
        try:
            with s.begin_nested():
                s.add(Tally(name="orm/1"))
        except Exception as error:
            return type(error).__name__, s.get(Tally, "orm/2")

    see("orm savepoint", orm, savepoint)
    see(
        "orm update",
        orm,
        lambda s: s.scalars(
            update(Tally)
            .where(Tally.name.in_(["orm/3", "orm/4"]))
            .values(amount=Tally.amount + 1, label=Tally.label + "+")
            .returning(Tally)
            .execution_options(synchronize_session="fetch")
        ).all(),
    )
    see(
        "orm bulk update",
        orm,
        lambda s: s.execute(
            update(Tally), [dict(name=f"orm/{i}", amount=D("9.99")) for i in range(6)]
        )
        and None,
    )
    see(
        "orm delete",
        orm,
        lambda s: (s.delete(s.get(Tally, "orm/7")), s.flush(), s.get(Tally, "orm/7"))[2],
    )
    see(
        "insert, returning",
        write,
        insert(tally).returning(tally.c.name, tally.c.amount),
        [dict(name=f"core/{i}", value=i, amount=D(i) / 8, label="x") for i in range(25)],
    )
    statement = upsert(tally).values(
        [dict(name=f"core/{i}", value=7, amount=D("0.75"), label="y") for i in range(20, 30)]
    )
    see(
        "on_conflict_do_update",
        write,
        statement.on_conflict_do_update(
            index_elements=[tally.c.name],
            set_=dict(
                value=tally.c.value + statement.excluded.value,
                amount=statement.excluded.amount,
                label=tally.c.label + statement.excluded.label,
            ),
            where=tally.c.label < statement.excluded.label,
        ).returning(tally),
    )
    see(
        "on_conflict_do_nothing",
        write,
        upsert(tally)
        .values(name="core/1", value=0, amount=0, label="")
        .on_conflict_do_nothing()
        .returning(tally.c.name),
    )
    see("too long", refused, update(tally).where(tally.c.name == "core/2").values(label="x" * 81))
    see("too large", refused, update(tally).where(tally.c.name == "core/2").values(amount=D("1e7")))
    see("twice", refused, insert(tally).values(name="core/2", value=0, amount=0, label=""))

    def queue():
        from sqlalchemy import column, table

        job = table(
            "shop_job",
            column("id", BigInteger),
            column("kind", String),
            column("state", String),
            column("message", Text),
        )
        with engine.connect() as one, engine.connect() as two, one.begin(), two.begin():
            taken = []
            for session in (one, two, one):
                rows = session.execute(
                    select(job.c.id, job.c.kind, job.c.message)
                    .where(job.c.kind == "export", job.c.state == "waiting")
                    .order_by(job.c.id)
                    .limit(2)
                    .with_for_update(skip_locked=True)
                ).all()
                session.execute(
                    update(job)
                    .where(job.c.id.in_([row.id for row in rows]))
                    .values(state="running", message=job.c.kind + "!")
                )
                taken.append(rows)
            return taken

    see("skip locked", queue)
    see("tallies", fetch, select(tally).where(tally.c.name.like("core/%")).order_by(tally.c.name))
    see(
        "delete",
        write,
        delete(tally)
        .where(or_(tally.c.name.startswith("core/"), tally.c.name.startswith("orm/")))
        .returning(tally.c.name),
    )
