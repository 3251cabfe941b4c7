"""The words of which the synthetic columns are made.

In many lists, the frequent words come first.
"""

FIRST_NAMES = """James Mary Michael Patricia Robert Jennifer John Linda David Elizabeth William Barbara Richard Susan Joseph Jessica Thomas
Karen Christopher Sarah Charles Lisa Daniel Nancy Matthew Sandra Anthony Betty Mark Ashley Donald Emily Steven Kimberly Andrew Margaret
Paul Donna Joshua Michelle Kenneth Carol Kevin Amanda Brian Melissa Timothy Deborah Ronald Stephanie Jason Rebecca George Sharon Edward
Laura Jeffrey Cynthia Ryan Dorothy Jacob Amy Nicholas Kathleen Gary Angela Eric Shirley Jonathan Emma Stephen Brenda Larry Pamela Justin
Nicole Scott Anna Brandon Samantha Benjamin Katherine Samuel Christine Gregory Debra Alexander Rachel Patrick Carolyn Frank Janet Raymond
Maria Jack Olivia Dennis Heather Jerry Helen Tyler Catherine Aaron Diane Jose Julie Adam Victoria Nathan Joyce Henry Lauren Zachary Kelly
Douglas Christina Peter Ruth Kyle Joan Noah Virginia Ethan Judith Jeremy Evelyn Christian Hannah Walter Andrea Keith Megan Austin Cheryl
Roger Jacqueline Terry Madison Sean Teresa Gerald Abigail Carl Sophia Dylan Martha Harold Sara Jordan Gloria Jesse Janice Bryan Kathryn
Lawrence Ann Arthur Isabella Gabriel Judy Bruce Charlotte Logan Julia Billy Grace Joe Amber Alan Alice Juan Jean Elijah Denise Willie
Frances Albert Danielle Wayne Marilyn Randy Natalie Mason Beverly Vincent Diana Liam Brittany Roy Theresa Bobby Kayla Caleb Alexis
Bradley Doris Russell Lori Lucas Tiffany""".split()

LAST_NAMES = """Smith Johnson Williams Brown Jones Garcia Miller Davis Rodriguez Martinez Hernandez Lopez Gonzalez Wilson Anderson Thomas Taylor
Moore Jackson Martin Lee Perez Thompson White Harris Sanchez Clark Ramirez Lewis Robinson Walker Young Allen King Wright Scott Torres
Nguyen Hill Flores Green Adams Nelson Baker Hall Rivera Campbell Mitchell Carter Roberts Gomez Phillips Evans Turner Diaz Parker Cruz
Edwards Collins Reyes Stewart Morris Morales Murphy Cook Rogers Gutierrez Ortiz Morgan Cooper Peterson Bailey Reed Kelly Howard Ramos Kim
Cox Ward Richardson Watson Brooks Chavez Wood James Bennett Gray Mendoza Ruiz Hughes Price Alvarez Castillo Sanders Patel Myers Long Ross
Foster Jimenez Powell Jenkins Perry Russell Sullivan Bell Coleman Butler Henderson Barnes Gonzales Fisher Vasquez Simmons Romero Jordan
Patterson Alexander Hamilton Graham Reynolds Griffin Wallace Moreno West Cole Hayes Bryant Herrera Gibson Ellis Tran Medina Aguilar
Stevens Murray Ford Castro Marshall Owens Harrison Fernandez Mcdonald Woods Washington Kennedy Wells Vargas Henry Chen Freeman Webb Tucker
Guzman Burns Crawford Olson Simpson Porter Hunter Gordon Mendez Silva Shaw Snyder Mason Dixon Munoz Hunt Hicks Holmes Palmer Wagner Black
Robertson Boyd Rose Stone Salazar Fox Warren Mills Meyer Rice Schmidt Garza Daniels Ferguson Nichols Stephens Soto Weaver Ryan Gardner
Payne Grant Dunn Kelley Spencer Hawkins Arnold Pierce Vazquez Hansen Peters Santos Hart Bradley Knight Elliott Cunningham Duncan
Armstrong Hudson Carroll Lane Riley Andrews Alvarado Ray Delgado Berry Perkins Hoffman Johnston Matthews Pena Richards Contreras Willis
Carpenter Lawrence Sandoval""".split()

CITIES = """New York,Los Angeles,Chicago,Houston,Phoenix,Philadelphia,San Antonio,San Diego,Dallas,San Jose,Austin,Jacksonville,Fort Worth,Columbus,
Charlotte,Indianapolis,San Francisco,Seattle,Denver,Oklahoma City,Nashville,El Paso,Washington,Boston,Las Vegas,Portland,Detroit,Louisville,
Memphis,Baltimore,Milwaukee,Albuquerque,Tucson,Fresno,Sacramento,Mesa,Kansas City,Atlanta,Omaha,Colorado Springs,Raleigh,Long Beach,
Virginia Beach,Miami,Oakland,Minneapolis,Tulsa,Bakersfield,Wichita,Arlington,Aurora,Tampa,New Orleans,Cleveland,Honolulu,Anaheim,Lexington,
Stockton,Corpus Christi,Henderson,Riverside,Newark,Saint Paul,Santa Ana,Cincinnati,Irvine,Orlando,Pittsburgh,St. Louis,Greensboro,Jersey City,
Anchorage,Lincoln,Plano,Durham,Buffalo,Chandler,Chula Vista,Toledo,Madison,Gilbert,Reno,Fort Wayne,North Las Vegas,St. Petersburg,Lubbock,
Irving,Laredo,Winston-Salem,Chesapeake,Glendale,Garland,Scottsdale,Norfolk,Boise,Fremont,Spokane,Santa Clarita,Baton Rouge,Richmond,Hialeah,
San Bernardino,Tacoma,Modesto,Huntsville,Des Moines,Yonkers,Rochester,Moreno Valley,Fayetteville,Fontana,Columbus,Worcester,Port St. Lucie,
Little Rock,Augusta,Oxnard,Birmingham,Montgomery,Frisco,Amarillo,Salt Lake City,Grand Rapids,Huntington Beach,Overland Park,Glendale,
Tallahassee,Grand Prairie,McKinney,Cape Coral,Sioux Falls,Peoria,Providence,Vancouver,Knoxville,Akron,Shreveport,Mobile,Brownsville,Newport News,
Fort Lauderdale,Chattanooga,Tempe,Aurora,Santa Rosa,Eugene,Elk Grove,Salem,Ontario,Cary,Rancho Cucamonga,Oceanside,Lancaster,Garden Grove,
Pembroke Pines,Fort Collins,Palmdale,Springfield,Clarksville,Salinas,Hayward,Paterson,Alexandria,Macon,Corona,Kansas City,Lakewood,Springfield,
Sunnyvale,Jackson,Killeen,Hollywood,Murfreesboro,Pasadena,Bellevue,Pomona,Escondido,Joliet,Charleston,Mesquite,Naperville,Rockford,Bridgeport,
Syracuse,Savannah,Roseville,Torrance,Fullerton,Surprise,McAllen,Thornton,Visalia,Olathe,Gainesville,West Valley City,Orange,Denton,Warren,
Pasadena,Waco,Cedar Rapids,Dayton,Elizabeth,Hampton,Columbia,Kent,Stamford,Lakewood,Victorville,Miramar,Coral Springs,Sterling Heights,
New Haven,Carrollton,Midland,Norman,Santa Clara,Athens,Thousand Oaks,Topeka,Simi Valley,Vallejo,Fargo,Allentown,Abilene,Concord,Hartford"""
CITIES = [c.strip() for c in CITIES.replace("\n", "").split(",")]

STATES = "AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR PA RI SC SD TN TX UT VA WA WI WY".split()

COUNTRIES = """United States,Germany,France,Japan,United Kingdom,Canada,Italy,Spain,Netherlands,Australia,Brazil,India,Sweden,Switzerland,Poland,Austria,
Belgium,Denmark,Norway,Finland,Ireland,Portugal,Czech Republic,Mexico,South Korea,China,Singapore,New Zealand,Greece,Turkey,South Africa"""
COUNTRIES = [c.strip() for c in COUNTRIES.replace("\n", "").split(",")]

STREETS = """Main,Second,Third,First,Fourth,Park,Fifth,Sixth,Oak,Seventh,Pine,Maple,Cedar,Eighth,Elm,View,Washington,Ninth,Lake,Hill,Walnut,Spring,
North,Ridge,Lincoln,Church,Willow,Mill,Sunset,Railroad,Jackson,Cherry,West,South,Center,Highland,Forest,River,Meadow,East,Chestnut,Jefferson,
Johnson,Dogwood,Hickory,Madison,College,Franklin,Green,Smith,Prospect,Court,Valley View,Birch,Woodland,Laurel,Williams,Locust,Country Club,
Magnolia,Adams,Orchard,Poplar,Cottonwood,Deer Run,Fairview,Sycamore,Colonial,Grant,Summit,Liberty,Juniper,Holly,Pleasant,Mulberry,Old Mill,
Canterbury,Monroe,Brookside,Cambridge,Hawthorne,Hillcrest,Martin Luther King,Winding Way,Stonebridge,Ashley,Rosewood,Clearwater,Foxglove"""
STREETS = [s.strip() for s in STREETS.replace("\n", "").split(",")]
STREET_KINDS = "Street,St,Avenue,Ave,Road,Rd,Drive,Dr,Lane,Ln,Court,Ct,Boulevard,Blvd,Way,Place,Circle,Terrace,Trail,Parkway".split(
    ","
)

MAIL_DOMAINS = """gmail.com yahoo.com hotmail.com outlook.com aol.com icloud.com gmx.net comcast.net protonmail.com verizon.net att.net msn.com web.de
orange.fr northwindtraders.com contoso.com fabrikam.org globex.com initech.com hooli.io umbrella-labs.org stark-industries.com acme.co.uk
riverside-clinic.org lakeview.edu brightwater.net cityofspringfield.gov kowalski-partners.de dupont-conseil.fr""".split()

NOUNS = """account address agreement appointment balance bank battery bill box budget building card case change charge claim code company contract copy
credit customer date deadline delivery department deposit desk discount document door driver email employee envelope equipment estimate evening
fee file floor form garage gate goods help invoice issue item key label letter list machine manager meeting message month morning neighbor note
number office offer option order owner package paper part password payment phone photo pickup plan policy price problem product project question
quote receipt refund repair replacement report request return room sale schedule service shipment signature size stock store subscription supplier
support system team technician ticket time transfer truck update upgrade user vendor visit voucher warehouse warranty week window work""".split()

VERBS = """accepted added agreed approved asked booked called canceled changed checked closed complained confirmed contacted corrected delayed
delivered discussed emailed escalated explained extended fixed forwarded found helped informed inspected installed left lost mentioned missed moved
offered ordered paid postponed prepared promised received refused reminded renewed repaired replaced reported requested rescheduled returned
reviewed sent shipped signed spoke submitted tested updated waited wants""".split()

ADJECTIVES = """accurate additional annual available bad beautiful best better big broken cheap clean clear comfortable cool current damaged dark
different difficult easy excellent expensive extra fair fast final fine full good great happy hard heavy helpful high huge important incorrect
large late light little local long lovely low main missing monthly new next nice old open original overdue perfect pleasant poor pretty previous
quick quiet ready reliable right short similar simple slow small soft solid strong sturdy temporary thin tight tiny unhappy urgent useful valid
warm weak weekly wonderful wrong""".split()

PRODUCT_BRANDS = """Northgate Solara Kestrel Brightline Halden Tamarin Orvex Pinecrest Lumo Vantor Cascadia Ridgeway Bluefin Ironwood Novabel Quillon
Everhart Zephyr Sable Marlowe""".split()
PRODUCT_THINGS = """Coffee Maker,Desk Lamp,Running Shoes,Phone Case,Bluetooth Speaker,Water Bottle,Office Chair,Yoga Mat,Backpack,Cutting Board,Wall Clock,
Garden Hose,Air Fryer,Vacuum Cleaner,Winter Jacket,Rain Boots,Dog Bed,Cat Tree,Baby Monitor,Picture Frame,Kitchen Scale,Tool Box,Cordless Drill,
Extension Cord,Bath Towels,Bed Sheets,Throw Pillow,Notebook,Fountain Pen,Travel Mug,Laptop Sleeve,Gaming Headset,Mechanical Keyboard,Webcam,
Power Bank,HDMI Cable,Wireless Earbuds,Screen Protector,Smart Watch Band,Electric Toothbrush,Hair Dryer,Sunglasses,Leather Belt,Hiking Socks,
Camping Tent,Sleeping Bag,Bike Helmet,Tennis Racket,Jigsaw Puzzle,Board Game,Wooden Train Set,Paint Brushes,Sewing Kit,Space Heater,Ceiling Fan,
Storage Bins,Shoe Rack,Shower Curtain,Door Mat,Salad Bowl,Wine Glasses,Frying Pan,Chef Knife,Measuring Cups,Toaster,Blender"""
PRODUCT_THINGS = [t.strip() for t in PRODUCT_THINGS.replace("\n", "").split(",")]
PRODUCT_TRAITS = """Stainless Steel,Black,Navy Blue,Large,Compact,Foldable,Waterproof,Rechargeable,Adjustable,Non-Slip,Ceramic,Bamboo,Cotton,
Insulated,Cordless,Ergonomic,Deluxe,Heavy Duty,Lightweight,Memory Foam,Dishwasher Safe,BPA Free,Vintage,Queen Size,Extra Long,2-Pack,Set of 4"""
PRODUCT_TRAITS = [t.strip() for t in PRODUCT_TRAITS.replace("\n", "").split(",")]

REVIEW_OPENINGS = """Bought this for my daughter and she uses it every day|I was skeptical at first but this turned out to be exactly what we needed|Not worth
the money|Great value|Five stars|It does what it says|Second one I have owned|Arrived two days early and well packed|The color is a bit darker than
in the pictures|Stopped working after three weeks|My husband is picky and even he likes it|Assembly took about twenty minutes|Customer service was
friendly and sent a replacement right away|Looks cheap|Sturdy and well made|Too noisy for a bedroom|Fits perfectly in our small kitchen|I have
tried many of these and this one is by far the best|Disappointed with the quality|Would buy again|Exactly as pictured|The instructions were hard
to follow|Works like a charm|Battery life could be better|Took it on a camping trip and it survived the rain|The zipper broke on the first day|
Ordered the wrong size but returning it was easy|Makes a nice gift|Easy to clean|Smells strange when new""".replace(
    "\n", " "
).split(
    "|"
)
REVIEW_CLOSINGS = """Highly recommend|Will not order again|Thanks|Save your money and look elsewhere|I would give it four stars because of the price|
Hope it lasts|So far so good|Love it|My friends have already asked where I got it|Could use a longer cord|Shipping was slow though|Overall I am
satisfied|We will see how it holds up over the winter|Perfect|Just okay|For the price you cannot go wrong|Sending it back tomorrow""".replace(
    "\n", " "
).split(
    "|"
)

GERMAN_NOTES = """Kundin rief wegen der Rechnung {n} an, Rückruf bis {d} zugesagt|Ware beschädigt eingetroffen, Ersatz wird morgen verschickt|Herr {name} bittet um
einen neuen Termin in der Woche vom {d}|Lieferung beim Nachbarn abgegeben|Zahlung noch offen, zweite Mahnung am {d} verschickt|Anschrift geändert:
{name}, Gartenstraße {n}|Sehr freundlicher Kontakt, gerne wieder|Angebot {n} angenommen, Auftrag angelegt|Wartungsvertrag läuft am {d} aus, bitte
rechtzeitig verlängern|Schlüssel liegt im Büro bereit|Der Fahrer konnte die Adresse nicht finden|Garantiefall geprüft und abgelehnt, Kunde ist
verärgert|Bitte nur nachmittags anrufen|Gutschrift über {n} Euro erstellt|Frau {name} hat die Unterlagen unterschrieben zurückgeschickt|Artikel
zurzeit nicht lieferbar, voraussichtlich wieder ab {d}|Passwort zurückgesetzt, Zugang funktioniert wieder|Rabatt von {n} % mit der Geschäftsleitung
abgesprochen|Techniker war vor Ort, Ersatzteil muss bestellt werden|Kein Interesse an weiteren Zusendungen""".replace(
    "\n", " "
).split(
    "|"
)
GERMAN_NAMES = "Müller Schmidt Schneider Fischer Weber Meyer Wagner Becker Schulz Hoffmann Schäfer Koch Bauer Richter Klein Wolf Schröder Neumann Schwarz Zimmermann Braun Krüger Hofmann Hartmann Lange Schmitt Werner Krause Meier Lehmann Köhler Jäger".split()

FRENCH_NOTES = """Le client a appelé au sujet de la facture {n}, à rappeler avant le {d}|Colis endommagé, un remplacement sera expédié demain|Madame {name} souhaite
reporter le rendez-vous au {d}|Livraison déposée chez le voisin|Paiement en attente, deuxième relance envoyée le {d}|Nouvelle adresse : {n} rue des
Lilas, chez {name}|Accueil très agréable, nous reviendrons avec plaisir|Devis {n} accepté, commande créée|Le contrat d'entretien se termine le {d},
penser à le renouveler|Les clés sont disponibles à l'accueil|Le chauffeur n'a pas trouvé l'adresse|Garantie refusée après contrôle, le client est
mécontent|Merci d'appeler uniquement l'après-midi|Avoir de {n} euros établi|Monsieur {name} a renvoyé les documents signés|Article
momentanément épuisé, retour prévu le {d}|Mot de passe réinitialisé, l'accès fonctionne de nouveau|Remise de {n} % validée par la direction|Le
technicien est passé, une pièce doit être commandée|Ne souhaite plus recevoir de courrier""".replace(
    "\n", " "
).split(
    "|"
)
FRENCH_NAMES = "Martin Bernard Dubois Robert Petit Durand Leroy Moreau Simon Laurent Lefebvre Michel Bertrand Roux Vincent Fournier Morel Girard Mercier Dupont Lambert Bonnet François Martinez Legrand Garnier Faure Rousseau Blanc Guérin Boyer".split()

RUSSIAN_NOTES = """Клиент звонил по поводу счёта {n}, обещали перезвонить до {d}|Товар пришёл повреждённым, замену отправим завтра|{name} просит перенести встречу на
{d}|Посылку оставили у соседей|Оплата не поступила, второе напоминание отправлено {d}|Сменился адрес: улица Садовая, дом {n}|Очень вежливые
сотрудники, обязательно обратимся ещё раз|Предложение {n} принято, заказ оформлен|Срок договора на обслуживание истекает {d}, нужно продлить|Ключи
можно забрать в офисе|Водитель не смог найти адрес|Гарантийный случай рассмотрен, в ремонте отказано|Звонить только после обеда|Оформлен возврат на
сумму {n} рублей|{name} прислал подписанные документы|Товара временно нет в наличии, поступление ожидается {d}|Пароль сброшен, вход снова
работает|Скидка {n} % согласована с руководством|Мастер приезжал, необходимо заказать запчасть|Просит больше не присылать рекламу""".replace(
    "\n", " "
).split(
    "|"
)
RUSSIAN_NAMES = "Иванов Смирнов Кузнецов Попов Васильев Петров Соколов Михайлов Новиков Фёдоров Морозов Волков Алексеев Лебедев Семёнов Егоров Павлов Козлов Степанов Николаев Орлов Андреев Макаров Никитин Захаров".split()

JAPANESE_NOTES = """{name}様より請求書{n}の件でお電話がありました。{d}までに折り返しご連絡します。|商品が破損していたため、明日代替品を発送いたします。|{name}様、打ち合わせの日程を{d}に変更希望。|
不在のため荷物は隣の方に預けました。|入金未確認、{d}に再度ご案内を送付済み。|住所変更の届出あり。新しい住所は{place}。|店員さんの対応がとても親切で、また利用したいと思います。|見積書{n}承認済み、
受注登録完了。|保守契約は{d}で満了となりますので、早めに更新手続きをお願いします。|鍵は事務所でお渡しできます。|配達員が住所を見つけられませんでした。|保証対象外と判断し、お客様にご説明しましたがご納得いただけませんでした。|
連絡は午後のみ可。|{n}円の返金処理を行いました。|{name}様から署名済みの書類を受け取りました。|在庫切れのため、入荷は{d}頃の見込みです。|パスワードを再設定し、ログインできることを確認しました。|割引率{n}％は上司に確認済み。|
技術者が訪問し、部品の取り寄せが必要とのこと。|今後の案内メールは不要とのことです。|思ったより小さかったですが、品質は良いと思います。|{place}の支店に転送しました。|味は美味しいけど少し値段が高い。|駅から近くて便利でした。|
子供の誕生日プレゼントに購入しました。とても喜んでいます。|次回は{d}に来店予定、担当は{name}。|説明書がわかりにくく、組み立てに時間がかかりました。|急ぎの案件です。本日中に対応してください。""".replace(
    "\n", ""
).split(
    "|"
)
JAPANESE_NAMES = "佐藤 鈴木 高橋 田中 伊藤 渡辺 山本 中村 小林 加藤 吉田 山田 佐々木 山口 松本 井上 木村 林 斎藤 清水 山崎 森 池田 橋本 阿部 石川 山下 中島 石井 小川 前田 岡田 長谷川 藤田 後藤 近藤 村上 遠藤 青木 坂本".split()
JAPANESE_PLACES = """東京都千代田区丸の内 東京都港区六本木 東京都新宿区西新宿 東京都渋谷区神南 東京都世田谷区三軒茶屋 東京都品川区大崎 東京都台東区浅草 東京都江東区豊洲 東京都練馬区光が丘
東京都八王子市旭町 神奈川県横浜市西区みなとみらい 神奈川県川崎市川崎区駅前本町 神奈川県鎌倉市小町 千葉県千葉市中央区富士見 千葉県浦安市舞浜 埼玉県さいたま市大宮区桜木町 埼玉県川越市幸町 茨城県つくば市吾妻
栃木県宇都宮市馬場通り 群馬県高崎市八島町 北海道札幌市中央区大通西 北海道函館市末広町 北海道旭川市宮下通 青森県青森市新町 岩手県盛岡市内丸 宮城県仙台市青葉区国分町 秋田県秋田市山王 山形県山形市香澄町
福島県郡山市駅前 新潟県新潟市中央区万代 富山県富山市総曲輪 石川県金沢市香林坊 福井県福井市大手 山梨県甲府市丸の内 長野県松本市深志 岐阜県岐阜市柳ケ瀬通 静岡県浜松市中区砂山町 愛知県名古屋市中村区名駅
愛知県名古屋市中区栄 愛知県豊田市若宮町 三重県津市羽所町 滋賀県大津市浜大津 京都府京都市下京区四条通 京都府京都市左京区吉田本町 大阪府大阪市北区梅田 大阪府大阪市中央区難波 大阪府堺市堺区三国ケ丘町
兵庫県神戸市中央区三宮町 兵庫県姫路市本町 奈良県奈良市登大路町 和歌山県和歌山市本町 鳥取県鳥取市東町 島根県松江市殿町 岡山県岡山市北区表町 広島県広島市中区紙屋町 山口県下関市竹崎町 徳島県徳島市寺島本町
香川県高松市番町 愛媛県松山市一番町 高知県高知市帯屋町 福岡県福岡市博多区博多駅前 福岡県北九州市小倉北区浅野 佐賀県佐賀市城内 長崎県長崎市大黒町 熊本県熊本市中央区手取本町 大分県大分市府内町
宮崎県宮崎市橘通西 鹿児島県鹿児島市中央町 沖縄県那覇市久茂地""".split()
JAPANESE_BUILDINGS = (
    "サンシャインビル 第一ビル パークハイツ グリーンマンション コーポさくら メゾン青葉 センタービル レジデンス富士 ハイム若葉 タワー東館".split()
)

MEDIA_TYPES = """text/html application/json image/jpeg image/png text/css application/javascript text/plain application/pdf image/gif image/svg+xml
application/xml font/woff2 video/mp4 application/octet-stream audio/mpeg application/zip multipart/form-data text/csv image/webp
application/x-www-form-urlencoded application/vnd.openxmlformats-officedocument.spreadsheetml.sheet application/vnd.ms-excel application/gzip
application/vnd.openxmlformats-officedocument.wordprocessingml.document application/msword text/xml audio/ogg video/webm image/x-icon application/rtf
text/html; charset=utf-8 application/json; charset=utf-8 text/plain; charset=UTF-8""".replace(
    "; charset", ";charset"
).split()
MEDIA_TYPES = [m.replace(";charset", "; charset") for m in MEDIA_TYPES]

STATUSES = """active inactive pending confirmed shipped delivered cancelled returned refunded on_hold backordered processing payment_failed
awaiting_pickup partially_shipped suspended closed trial""".split()

EVENTS = """page_view button_click form_submit add_to_cart remove_from_cart checkout_started payment_succeeded payment_declined user_signed_up
password_reset session_expired search_performed video_played file_uploaded coupon_applied email_opened profile_updated subscription_renewed""".split()
